import { runEngine } from './child.ts'

await runEngine(process.argv.slice(2))
