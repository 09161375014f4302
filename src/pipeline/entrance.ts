import type { Engine } from '#infra/context.ts'
import type { Metrics } from '#infra/metrics/metrics.ts'
import type { Authority } from '#core/principal.ts'
import type { Line } from './invoke.ts'
import type { Limits } from './limit.ts'
import type { Origins } from './origin.ts'
import type { Versions } from './version.ts'

export interface Entrance {
  engine: Engine
  line: Line
  authority: Authority
  limits: Limits
  versions: Versions
  origins: Origins
  metrics: Metrics
}
