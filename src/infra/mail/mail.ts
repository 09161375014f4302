import { newId } from '#core/ids.ts'
import type { Context, Engine } from '../context.ts'
import type { JobHandler } from '../jobs/jobs.ts'

export interface Mail {
  /** One address. */
  to: string
  subject: string
  text: string
  html: string
}

interface SealedMail {
  id: string
  mail: string
}

/** The waits between them grow to six hours: a mail is given up after four to five days (RFC 5321, 4.5.4.1). */
const ATTEMPTS = 28

/** Whether this server can send mail. Where it cannot, what would have been mailed is shown to whoever asked for it. */
export const canMail = ({ config }: Pick<Engine, 'config'>): boolean => config.smtpUrl !== null

/** Sends when the transaction of `ctx` is durable, and again until the mail server took it. Sealed, for mails carry tokens. */
export async function sendMail(ctx: Pick<Context, 'engine' | 'db'>, mail: Mail): Promise<void> {
  const id = newId()
  const sealedMail: SealedMail = { id, mail: ctx.engine.secrets.seal(JSON.stringify(mail), id) }
  await ctx.engine.jobs.add(ctx, 'mail.send', { ...sealedMail }, { attempts: ATTEMPTS })
}

/** The jobs of this file. */
export const mailJobs = (engine: Pick<Engine, 'config' | 'secrets' | 'log'>): Record<string, JobHandler> => ({
  'mail.send': (sealedMail: SealedMail) => deliver(engine, sealedMail),
})

async function deliver({ config, secrets, log }: Pick<Engine, 'config' | 'secrets' | 'log'>, { id, mail }: SealedMail) {
  if (config.smtpUrl === null) return log.warn({ mail: id }, 'an email was not sent because SMTP_URL is no longer set')
  const { to, subject, text, html } = JSON.parse(secrets.open(mail, id)) as Mail
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    url: config.smtpUrl,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  try {
    // As an object the address is one address, whatever is in it.
    const address = { name: '', address: to }
    // One that is sent again, because its answer was lost, is known by its id (RFC 5322, 3.6.4).
    const messageId = `<${id}@${/@([^<>@\s]+)>?$/.exec(config.mailFrom)?.[1] ?? 'ukiyo.invalid'}>`
    await transport.sendMail({ from: config.mailFrom, to: address, subject, text, html, messageId })
  } catch (error) {
    const code = error instanceof Error && 'responseCode' in error ? Number(error.responseCode) : 0
    const about = error instanceof Error && 'command' in error ? error.command : null
    // 5xx to the recipient or the mail is the mail server's last word (RFC 5321, 4.2.1). What it says to us, such as that
    // the password is wrong, can be set right: like anything else that is tried again.
    if (code < 500 || (about !== 'RCPT TO' && about !== 'DATA'))
      throw new Error(`the mail server did not take a mail${code ? ` (${code})` : ''}`, { cause: error })
    log.warn({ mail: id, code }, 'the mail server permanently rejected an email')
  } finally {
    transport.close()
  }
}

/** The page of a mail. */
export const htmlOf = (...blocks: readonly string[]): string =>
  ['<!doctype html><meta charset="utf-8">', ...blocks].join('\n')

/** Text as it stands in HTML. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`)
