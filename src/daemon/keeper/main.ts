import { runKeeper } from './run.ts'

await runKeeper(process.argv.slice(2))
