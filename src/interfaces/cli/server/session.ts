import { contracts } from '#modules/contracts.ts'
import { ApiError, type Send, type SendCall, createCall } from '../../client.ts'
import type { Globals } from '../globals.ts'
import { readLogin } from './credentials.ts'
import { forgetSession, keepSession, keptSession } from './grace.ts'
import { ask, askPassword } from '../input/prompt.ts'
import { send } from './send.ts'
import type { Terminal } from '../terminal.ts'

/** Why the password is needed. Without it, a kept session isn't reused. */
interface Asking {
  why?: string
}

/**
 * Signs in, runs `work` and signs out, also on failure. A session from a typed password is kept for a few minutes for
 * this terminal.
 */
export async function withSession<T>(
  origin: string,
  globals: Globals,
  terminal: Terminal,
  work: (call: SendCall, email: string) => Promise<T>,
  { why }: Asking = {},
): Promise<T> {
  const email =
    globals.email ?? (await readLogin(terminal))?.email ?? (await ask('Email', '--email', globals, terminal))
  const typed = terminal.canAsk && !globals['password-stdin'] && !globals['no-input']
  if (typed) {
    const entry = await keptSession(origin, email, terminal)
    if (entry?.usable && why !== undefined) {
      try {
        return await work(createCall({ origin, send: withCookies(new Map(entry.session.cookies)) }), email)
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 401) throw error
      }
    }
    if (entry !== null) await endKept(terminal)
    if (why !== undefined) terminal.err(why)
  }
  if (terminal.canAsk && globals.email === undefined) terminal.err(`Signing in to ${origin} as ${email}`)
  const password = await askPassword(globals, terminal)
  const auth = await contracts.auth()
  return inSession(
    origin,
    (call) => call(auth.endpoints.sign_in, { email, password }),
    (call) => work(call, email),
    typed ? (cookies) => keepSession({ origin, email, cookies }, terminal) : undefined,
  )
}

export async function endKept(terminal: Terminal): Promise<void> {
  const entry = await keptSession('', '', terminal)
  if (entry === null) return
  await forgetSession(terminal)
  const { origin, cookies } = entry.session
  const auth = await contracts.auth()
  // If the server can't be reached, the session expires on its own.
  await createCall({ origin, send: withCookies(new Map(cookies)) })(auth.endpoints.sign_out, {}).catch(() => {})
}

/** Runs `work` in the session that `enter` opens. If `keep` doesn't take the cookies, signs out. */
export async function inSession<T>(
  origin: string,
  enter: (call: SendCall) => Promise<unknown>,
  work: (call: SendCall) => Promise<T>,
  keep?: (cookies: [string, string][]) => Promise<boolean>,
): Promise<T> {
  const jar = new Map<string, string>()
  const call = createCall({ origin, send: withCookies(jar) })
  const auth = await contracts.auth()
  await enter(call)
  try {
    return await work(call)
  } finally {
    // A failed sign-out must not hide an error from `work`; the session expires on its own.
    if (!(await keep?.([...jar]))) await call(auth.endpoints.sign_out, {}).catch(() => {})
  }
}

function withCookies(jar: Map<string, string>): Send {
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
