// Takes long: begun before others.
import { killedIn } from './cloud-kills.ts'

// All seven: `cloud-kills.long.ts`.
killedIn(['starting', 'snapshotting'])
