import type { Config } from '#config'
import { type CheckResult, fail, off, ok, warn, wordsOf } from './check.ts'
import { shorten } from '#core/text/shorten.ts'

export async function checkMail({ smtpUrl }: Config): Promise<CheckResult> {
  if (smtpUrl === null)
    return off('Email is off. Share invitations as links.', 'To turn it on, set SMTP_URL and UK_MAIL_FROM.')
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: 5_000,
    greetingTimeout: 5_000,
    socketTimeout: 10_000,
  })
  const { host } = new URL(smtpUrl)
  try {
    await transport.verify()
    return ok(`The mail server ${host} accepts email from this server.`)
  } catch (error) {
    return fail(
      `The mail server ${host} doesn't work: ${wordsOf(error)}`,
      'Check the host, port, user and password in SMTP_URL.',
    )
  } finally {
    transport.close()
  }
}

const MAX_DRIFT_MS = 30_000

export async function checkPublicUrl({ publicUrl, host }: Config): Promise<CheckResult> {
  const loopback = host === 'localhost' || host === '::1' || host.startsWith('127.')
  if (publicUrl === null)
    return loopback
      ? off("UK_PUBLIC_URL isn't set, so only this machine can use the server.", 'Set it to open the server to others.')
      : warn(
          `The server listens on ${host}, but UK_PUBLIC_URL isn't set.`,
          'Set it: links in emails and secure cookies need it.',
        )
  if (publicUrl.startsWith('http:') && !/^http:\/\/(localhost|127\.|\[::1\])/.test(publicUrl))
    return warn(
      `${publicUrl} isn't encrypted. Others on the network can read keys and passwords.`,
      'Put a TLS proxy in front and use https:// in UK_PUBLIC_URL.',
    )
  try {
    const answer = await fetch(`${publicUrl}/healthz`, { signal: AbortSignal.timeout(10_000), redirect: 'manual' })
    const words = shorten(await answer.text(), 200)
    if (answer.status !== 200 || !/"status":"ok"/.test(words))
      return fail(
        `${publicUrl}/healthz returned ${answer.status}, which isn't a response from Ukiyo.`,
        'Check that the server is running and the proxy forwards to it.',
      )
    const drift = Date.parse(answer.headers.get('date') ?? '') - Date.now()
    if (Math.abs(drift) > MAX_DRIFT_MS)
      return warn(
        `The clock of ${publicUrl} differs from this machine's by ${Math.round(drift / 1000)} s.`,
        'Synchronize both with NTP.',
      )
    return ok(`${publicUrl} reaches a Ukiyo server.`)
  } catch (error) {
    return fail(
      `Can't reach ${publicUrl} from this machine: ${wordsOf(error)}`,
      'Check DNS, the proxy, its certificate, and that the server is running.',
    )
  }
}

export async function checkBus({ busUrl }: Config): Promise<CheckResult> {
  if (busUrl === null) return ok('Server processes notify each other through PostgreSQL.')
  const { connect } = await import('node:net')
  const { protocol, hostname, port } = new URL(busUrl)
  const fallback = protocol.startsWith('redis') ? 6379 : 4222
  const socket = connect({ host: hostname, port: Number(port) || fallback, timeout: 5_000 })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject)
      socket.once('timeout', () => reject(new Error('no response within 5 seconds')))
    })
    return ok(`The bus at ${hostname} is reachable.`)
  } catch (error) {
    return fail(
      `Can't reach the bus at ${hostname}: ${wordsOf(error)}`,
      'Check UK_BUS. To use PostgreSQL instead, leave it empty.',
    )
  } finally {
    socket.destroy()
  }
}
