/** The command line `uk`. */
import { run } from './run.ts'
import { createTerminal } from './terminal.ts'

// Not left to end by itself: an answer that nobody wants to read to its end would keep its connection open.
const code = await run(process.argv.slice(2), createTerminal(process))
// What was written last may wait for its reader still.
for (const stream of [process.stdout, process.stderr])
  if (stream.writableLength > 0) await new Promise((resolve) => stream.write('', resolve))
process.exit(code)
