/** The program that holds terminals and commands; see `run.ts`. */
import { runKeeper } from './run.ts'

await runKeeper(process.argv.slice(2))
