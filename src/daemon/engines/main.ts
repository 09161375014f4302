/** The program of the engines' own processes; see `child.ts`. */
import { runEngine } from './child.ts'

await runEngine(process.argv.slice(2))
