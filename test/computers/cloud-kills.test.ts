// Thorough: run by the merge check, or by name.
import { killedIn } from './cloud-kills.ts'

// All seven: `cloud-kills.long.ts`.
killedIn(['starting', 'snapshotting'])
