/**
 * The program behind `uk backup`, `uk restore` and `uk doctor`: it opens the database and the files of the instance that this
 * environment names, which no other command does. What is asked comes as JSON on standard input, for some of it is secret.
 */
import { text } from 'node:stream/consumers'
import { ConfigRefused } from '#config'
import { BackupRefused } from '#infra/backup/layout/refused.ts'
import { StartRefused, explainStart } from '#infra/start-refused.ts'

const stopping = new AbortController()
const stop = (): void => {
  // Asked twice, it leaves what it has half done as it is: under a name that no restore takes.
  if (stopping.signal.aborted) process.exit(130)
  stopping.abort(new Error('interrupted'))
}
process.on('SIGINT', stop).on('SIGTERM', stop)
// The reader of the output has left (`uk doctor | head`): the database is still closed in order.
let readerLeft = false
process.stdout.on('error', () => {
  readerLeft = true
  stopping.abort(new Error('the reader of the output has left'))
})
process.stderr.on('error', () => {})

const command = process.argv[2] ?? ''
process.exitCode = await run(command).catch((thrown: unknown) => {
  // Checks without a reader are no failure. A backup without one is, and its reader has reported why.
  if (readerLeft) return command === 'doctor' ? 0 : 1
  if (stopping.signal.aborted) return fail('interrupted: nothing was kept of it', 130)
  const error = explainStart(thrown, 'it cannot go on')
  if (error instanceof BackupRefused || error instanceof StartRefused || error instanceof ConfigRefused)
    return fail(error.message, 1)
  throw error
})
process.exit()

async function run(command: string): Promise<number> {
  const asked = JSON.parse(await text(process.stdin))
  switch (command) {
    case 'backup':
      return (await import('./backup.ts')).backup(asked, stopping.signal)
    case 'restore':
      return (await import('./restore.ts')).restore(asked, stopping.signal)
    case 'doctor':
      return (await import('./doctor/doctor.ts')).doctor(asked, stopping.signal)
  }
  return fail(`there is no program "${command}"`, 2)
}

function fail(message: string, code: number): number {
  process.stderr.write(`uk: ${message}\n`)
  return code
}
