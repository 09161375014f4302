import type { Config } from '#config'
import { type Found, fail, off, ok, warn, wordsOf } from './check.ts'
import { shorten } from '#core/text/shorten.ts'

/** Checks that ask somebody else: the mail server, the address that people use, the bus. */

export async function checkMail({ smtpUrl }: Config): Promise<Found> {
  if (smtpUrl === null)
    return off('No mail is sent: invitations are handed on as links.', 'Set SMTP_URL and UK_MAIL_FROM.')
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
    return ok(`The mail server ${host} takes what this one sends.`)
  } catch (error) {
    return fail(
      `The mail server ${host} does not work: ${wordsOf(error)}`,
      'Look at SMTP_URL: host, port, user and password.',
    )
  } finally {
    transport.close()
  }
}

const MOST_DRIFT_MS = 30_000

export async function checkPublicUrl({ publicUrl, host }: Config): Promise<Found> {
  const loopback = host === 'localhost' || host === '::1' || host.startsWith('127.')
  if (publicUrl === null)
    return loopback
      ? off('No UK_PUBLIC_URL: the server is for this machine.', 'Set it before others are to reach it.')
      : warn(
          `The server listens on ${host}, and has no UK_PUBLIC_URL.`,
          'Set it: links in mails carry it, and cookies are safe by it.',
        )
  if (publicUrl.startsWith('http:') && !/^http:\/\/(localhost|127\.|\[::1\])/.test(publicUrl))
    return warn(
      `${publicUrl} is not encrypted: keys and passwords can be read on the way.`,
      'Put a proxy with TLS before it, and say https:// in UK_PUBLIC_URL.',
    )
  try {
    const answer = await fetch(`${publicUrl}/healthz`, { signal: AbortSignal.timeout(10_000), redirect: 'manual' })
    const words = shorten(await answer.text(), 200)
    if (answer.status !== 200 || !/"status":"ok"/.test(words))
      return fail(
        `${publicUrl}/healthz answered ${answer.status}, and not as Ukiyo does.`,
        'Does the proxy lead to this server, and is it running?',
      )
    const drift = Date.parse(answer.headers.get('date') ?? '') - Date.now()
    if (Math.abs(drift) > MOST_DRIFT_MS)
      return warn(
        `The clock behind ${publicUrl} is ${Math.round(drift / 1000)} s away from this one.`,
        'Let both follow a time server (NTP).',
      )
    return ok(`${publicUrl} leads to a Ukiyo.`)
  } catch (error) {
    return fail(
      `${publicUrl} cannot be reached from here: ${wordsOf(error)}`,
      'Look at DNS, the proxy, its certificate, and whether the server runs.',
    )
  }
}

export async function checkBus({ busUrl }: Config): Promise<Found> {
  if (busUrl === null) return ok('Server processes wake each other through PostgreSQL.')
  const { connect } = await import('node:net')
  const { protocol, hostname, port } = new URL(busUrl)
  const fallback = protocol.startsWith('redis') ? 6379 : 4222
  const socket = connect({ host: hostname, port: Number(port) || fallback, timeout: 5_000 })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject)
      socket.once('timeout', () => reject(new Error('it does not answer within five seconds')))
    })
    return ok(`The bus at ${hostname} can be reached.`)
  } catch (error) {
    return fail(`The bus at ${hostname} cannot be reached: ${wordsOf(error)}`, 'Look at UK_BUS; empty is PostgreSQL.')
  } finally {
    socket.destroy()
  }
}
