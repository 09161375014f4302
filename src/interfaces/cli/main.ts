import { run } from './run.ts'
import { createTerminal } from './terminal.ts'

// Exits explicitly: a response that isn't read to its end would keep its connection, and so the process, open.
const code = await run(process.argv.slice(2), createTerminal(process))
// Output may still be buffered for a slow reader.
for (const stream of [process.stdout, process.stderr])
  if (stream.writableLength > 0) await new Promise((resolve) => stream.write('', resolve))
process.exit(code)
