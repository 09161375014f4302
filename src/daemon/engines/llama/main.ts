/** The program of the engine's own process; see `child.ts`. */
import { runEngine } from './child.ts'

await runEngine(process.argv.slice(2))
