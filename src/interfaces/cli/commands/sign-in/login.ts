import { hostname } from 'node:os'
import { contracts } from '#modules/contracts.ts'
import { ApiError, type SendCall, createCall } from '../../../client.ts'
import { parseArguments } from '../../input/arguments.ts'
import { secretField, textField } from '../../input/fields.ts'
import { type Login, forgetLogin, loginFile, readLogin, targetOf, writeLogin } from '../../server/credentials.ts'
import { Stop, codeOf } from '../../exit.ts'
import { readText } from '../../input/input.ts'
import { ask, askHidden, askNewPassword } from '../../input/prompt.ts'
import { send } from '../../server/send.ts'
import { endKept, inSession, withSession } from '../../server/session.ts'
import { card } from '../../output/table.ts'
import type { Terminal } from '../../terminal.ts'

export async function login(words: readonly string[], terminal: Terminal): Promise<number> {
  const { globals } = await parseArguments(words, [], readText)
  const { origin } = await targetOf(terminal, globals)
  return withSession(origin, globals, terminal, (call, email) => keepKey(call, origin, email, terminal))
}

export async function signUp(words: readonly string[], terminal: Terminal): Promise<number> {
  const { input, globals } = await parseArguments(
    words,
    [textField('name'), secretField('setup_token'), secretField('invitation_token')],
    readText,
  )
  const { origin } = await targetOf(terminal, globals)
  const email = globals.email ?? (await ask('Email', '--email', globals, terminal))
  const name = (input.name as string | undefined) ?? (await ask('Name', '--name', globals, terminal))
  const password = await askNewPassword(globals, terminal)
  const auth = await contracts.auth()
  const enter = async (call: SendCall) => {
    const account = { ...input, email, name, password }
    try {
      return await call(auth.endpoints.sign_up, account)
    } catch (error) {
      const wantsToken =
        error instanceof ApiError &&
        error.code === 'setup_required' &&
        input.setup_token === undefined &&
        terminal.canAsk
      if (!wantsToken) throw error
      return call(auth.endpoints.sign_up, {
        ...account,
        setup_token: await askHidden('Setup token', '--setup-token', globals, terminal),
      })
    }
  }
  return inSession(origin, enter, (call) => keepKey(call, origin, email, terminal))
}

/** Creates and stores a key, and revokes the one it replaces. A key that can't be stored is revoked at once. */
async function keepKey(call: SendCall, origin: string, email: string, terminal: Terminal): Promise<number> {
  const before = await readLogin(terminal).catch(() => null)
  const apiKeys = await contracts.api_keys()
  const name = `uk on ${hostname()}`
  const answer = await call(apiKeys.endpoints.create, { name, scopes: ['*'] })
  const created = JSON.parse(await answer.text()) as { data: { id: string; key: string } }
  const login: Login = { origin, key: created.data.key, key_id: created.data.id, email }
  const replaced = before !== null && isOther(before, login) ? before : null
  if (replaced !== null)
    terminal.err(
      `Replacing the login of ${replaced.email} on ${replaced.origin}. Its API key stays valid until you revoke it.`,
    )
  let file: string
  try {
    file = await writeLogin(terminal, login)
  } catch (error) {
    await call(apiKeys.endpoints.revoke, { id: created.data.id })
    throw new Stop('failure', `Can't store the key: ${(error as Error).message}.`, 'The key was revoked.')
  }
  if (before?.key_id && replaced === null) await call(apiKeys.endpoints.revoke, { id: before.key_id }).catch(() => {})
  terminal.err(`Signed in to ${origin} as ${email}. The key "${name}" is stored in ${file}`)
  warnOfEnvironment(origin, terminal)
  return codeOf('ok')
}

const isOther = (one: Login, other: Login): boolean =>
  one.origin !== other.origin || one.email.toLowerCase() !== other.email.toLowerCase()

function warnOfEnvironment(origin: string, terminal: Terminal): void {
  const { UK_KEY, UK_ORIGIN = '' } = terminal.env
  if (UK_KEY) terminal.err('UK_KEY is set and overrides this login. To use the login, run: unset UK_KEY')
  if (URL.canParse(UK_ORIGIN) && new URL(UK_ORIGIN).origin !== origin)
    terminal.err(
      `UK_ORIGIN is set to ${new URL(UK_ORIGIN).origin} and overrides ${origin}. To use the login, run: unset UK_ORIGIN`,
    )
}

export async function logout(words: readonly string[], terminal: Terminal): Promise<number> {
  await parseArguments(words, [], readText)
  const login = await readLogin(terminal).catch(() => null)
  await endKept(terminal)
  await forgetLogin(terminal)
  terminal.err(
    login === null
      ? `You weren't signed in: there is no key in ${loginFile(terminal)}.`
      : `Signed out. The API key stays valid until you revoke it: uk api-keys revoke ${login.key_id} --origin ${login.origin}`,
  )
  return codeOf('ok')
}

export async function whoami(words: readonly string[], terminal: Terminal): Promise<number> {
  const { globals } = await parseArguments(words, [], readText)
  const { origin, key } = await targetOf(terminal, globals)
  if (key === undefined) throw new Stop('auth', `Not signed in to ${origin}.`, 'Run `uk login`, or set UK_KEY.')
  const text = await (await createCall({ origin, key, send })((await contracts.me()).endpoints.get, {})).text()
  const { data } = JSON.parse(text) as { data: Record<string, unknown> }
  await terminal.out(globals.json ? `${text}\n` : card({ origin, key: `${key.slice(0, 11)}…`, ...data }, terminal))
  return codeOf('ok')
}
