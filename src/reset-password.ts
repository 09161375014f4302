/**
 * `uk admin reset-password <email>`: for the owner of the machine. Reads the new password from stdin and opens the
 * instance's database directly; no server has to run.
 */
import { text } from 'node:stream/consumers'
import { resetPassword } from '#modules/accounts/sign-in/reset.ts'
import { ConfigRefused, readConfig } from '#config'
import { attachInstance } from '#infra/postgres/embedded/attach.ts'
import { connectPostgres } from '#infra/postgres/client.ts'
import { StartRefused } from '#infra/start-refused.ts'

const [email] = process.argv.slice(2)
process.stderr.on('error', () => {})
process.exitCode = await run(email ?? '').catch((error: unknown) => {
  if (error instanceof StartRefused || error instanceof ConfigRefused) return fail(error.message, 1)
  throw error
})

async function run(email: string): Promise<number> {
  if (!email.includes('@')) return fail('pass the email of the account', 2)
  const { config } = readConfig(process.env)
  const password = (await text(process.stdin)).replace(/\r?\n$/, '')
  if (password.length < 8 || password.length > 256) return fail('the password must be 8 to 256 characters long', 2)
  await using database = await attachInstance(config)
  await using postgres = connectPostgres({ ...database.connection, max: 1 }, () => {})
  if (!(await resetPassword(postgres.db, email, password))) return fail(`no account with the email ${email}`, 3)
  process.stderr.write(`Changed the password of ${email} and signed out all its sessions.\n`)
  return 0
}

function fail(message: string, code: number): number {
  process.stderr.write(`uk: ${message}\n`)
  return code
}
