/**
 * `uk admin reset-password <email>`: for the person who has the machine but not the password. Reads the new password
 * from standard input, works on the instance that this environment names, and needs no running server.
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
  if (!email.includes('@')) return fail('name the account by its e-mail address', 2)
  const { config } = readConfig(process.env)
  const password = (await text(process.stdin)).replace(/\r?\n$/, '')
  if (password.length < 8 || password.length > 256) return fail('the password must have 8 to 256 characters', 2)
  await using database = await attachInstance(config)
  await using postgres = connectPostgres({ ...database.connection, max: 1 }, () => {})
  if (!(await resetPassword(postgres.db, email, password)))
    return fail(`there is no account with the address ${email}`, 3)
  process.stderr.write(`The password of ${email} is set, and all its sessions have ended.\n`)
  return 0
}

function fail(message: string, code: number): number {
  process.stderr.write(`uk: ${message}\n`)
  return code
}
