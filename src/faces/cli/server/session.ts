import { contracts } from '#areas/contracts.ts'
import { type Send, type SendCall, createCall } from '../../client.ts'
import type { Globals } from '../globals.ts'
import { readLogin } from './credentials.ts'
import { ask, askPassword } from '../input/prompt.ts'
import { send } from './send.ts'
import type { Terminal } from '../terminal.ts'

/** Signs in for the length of `work` and signs out again, also when it fails. */
export async function withSession<T>(
  origin: string,
  globals: Globals,
  terminal: Terminal,
  work: (call: SendCall, email: string) => Promise<T>,
): Promise<T> {
  const email =
    globals.email ?? (await readLogin(terminal))?.email ?? (await ask('E-mail', '--email', globals, terminal))
  if (terminal.canAsk && globals.email === undefined) terminal.err(`Signing in to ${origin} as ${email}`)
  const password = await askPassword(globals, terminal)
  const auth = await contracts.auth()
  return inSession(
    origin,
    (call) => call(auth.endpoints.sign_in, { email, password }),
    (call) => work(call, email),
  )
}

/** `enter` signs in or up; `work` then runs with the cookie that this gave. */
export async function inSession<T>(
  origin: string,
  enter: (call: SendCall) => Promise<unknown>,
  work: (call: SendCall) => Promise<T>,
): Promise<T> {
  const call = createCall({ origin, send: withCookies() })
  const auth = await contracts.auth()
  await enter(call)
  try {
    return await work(call)
  } finally {
    // The error that the work threw says more than a sign-out that failed; the session ends by itself later.
    await call(auth.endpoints.sign_out, {}).catch(() => {})
  }
}

/** Keeps the cookies of one origin, in memory only. */
function withCookies(): Send {
  const jar = new Map<string, string>()
  return async (outgoing) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await send({ ...outgoing, headers: { ...outgoing.headers, ...(cookie !== '' && { cookie }) } })
    for (const line of answer.cookies) {
      const [pair = ''] = line.split(';')
      const equals = pair.indexOf('=')
      jar.set(pair.slice(0, equals).trim(), pair.slice(equals + 1).trim())
    }
    return answer
  }
}
