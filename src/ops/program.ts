/**
 * The program behind `uk backup`, `uk restore` and `uk doctor`. It opens the instance's database and files, unlike
 * other commands. Options come as JSON on stdin because some are secret.
 */
import { text } from 'node:stream/consumers'
import { ConfigRefused } from '#config'
import { BackupRefused } from '#infra/backup/layout/refused.ts'
import { StartRefused, explainStart } from '#infra/start-refused.ts'

const stopping = new AbortController()
const stop = (): void => {
  // A second signal exits at once. The partial backup keeps a name that restore ignores.
  if (stopping.signal.aborted) process.exit(130)
  stopping.abort(new Error('interrupted'))
}
process.on('SIGINT', stop).on('SIGTERM', stop)
// The reader closed the pipe (`uk doctor | head`): still shut down the database in order.
let readerLeft = false
process.stdout.on('error', () => {
  readerLeft = true
  stopping.abort(new Error('the output was closed'))
})
process.stderr.on('error', () => {})

const command = process.argv[2] ?? ''
process.exitCode = await run(command).catch((thrown: unknown) => {
  // Fine for checks. A backup without its reader failed, and the reader has reported why.
  if (readerLeft) return command === 'doctor' ? 0 : 1
  if (stopping.signal.aborted) return fail('interrupted; nothing was changed', 130)
  const error = explainStart(thrown, "can't continue")
  if (error instanceof BackupRefused || error instanceof StartRefused || error instanceof ConfigRefused)
    return fail(error.message, 1)
  throw error
})
process.exit()

async function run(command: string): Promise<number> {
  const options = JSON.parse(await text(process.stdin))
  switch (command) {
    case 'backup':
      return (await import('./backup.ts')).backup(options, stopping.signal)
    case 'restore':
      return (await import('./restore.ts')).restore(options, stopping.signal)
    case 'doctor':
      return (await import('./doctor/doctor.ts')).doctor(options, stopping.signal)
  }
  return fail(`unknown command "${command}"`, 2)
}

function fail(message: string, code: number): number {
  process.stderr.write(`uk: ${message}\n`)
  return code
}
