/** The command line `uk`. */
import { run } from './run.ts'
import { createTerminal } from './terminal.ts'

// Not left to end by itself: an answer that nobody wants to read to its end would keep its connection open.
process.exit(await run(process.argv.slice(2), createTerminal(process)))
