import type { HasEndpoints } from '#modules/ai-gateway/service.ts'
import type { GatewayFaces } from '#gateway/mount.ts'
import type { Id } from '#core/ids.ts'
import type { OutsideTools } from './outside-tools.ts'
import type { Toolbox } from './toolbox.ts'

export interface AgentHandles extends HasEndpoints, Pick<GatewayFaces, 'completeTurn'> {
  toolbox: Toolbox
  outsideTools: OutsideTools
  isPausedByAgent(automationRunIds: readonly Id[]): Promise<boolean>
}
