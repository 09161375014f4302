import type { HasEndpoints } from '#modules/ai-gateway/service.ts'
import type { GatewayFaces } from '#gateway/mount.ts'
import type { Id } from '#core/ids.ts'
import type { OutsideTools } from './outside-tools.ts'
import type { Toolbox } from './toolbox.ts'

/** The handles by which an agent at work uses other areas. */
export interface AgentHandles extends HasEndpoints, Pick<GatewayFaces, 'completeTurn'> {
  toolbox: Toolbox
  outsideTools: OutsideTools
  /** Whether one of these runs of automations is of one that was paused since its agent was changed. */
  isPausedByAgent(automationRunIds: readonly Id[]): Promise<boolean>
}
