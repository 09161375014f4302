/** The program of engine processes; see `child.ts`. */
import { runEngine } from './child.ts'

await runEngine(process.argv.slice(2))
