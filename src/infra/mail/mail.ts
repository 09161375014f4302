import { newId } from '#core/ids.ts'
import type { Context, Engine } from '../context.ts'
import type { JobHandler } from '../jobs/jobs.ts'

export interface Mail {
  to: string
  subject: string
  text: string
  html: string
}

interface SealedMail {
  id: string
  mail: string
}

/** Delays grow to six hours, so an email is given up after four to five days (RFC 5321, 4.5.4.1). */
const ATTEMPTS = 28

/** Without email, the text is shown to the requesting user instead. */
export const canMail = ({ config }: Pick<Engine, 'config'>): boolean => config.smtpUrl !== null

/**
 * Sends after the transaction of `ctx` commits and retries until the mail server accepts it. Encrypted, because emails
 * contain tokens.
 */
export async function sendMail(ctx: Pick<Context, 'engine' | 'db'>, mail: Mail): Promise<void> {
  const id = newId()
  const sealedMail: SealedMail = { id, mail: ctx.engine.secrets.seal(JSON.stringify(mail), id) }
  await ctx.engine.jobs.add(ctx, 'mail.send', { ...sealedMail }, { attempts: ATTEMPTS })
}

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
    // As an object, the address is always a single one, even with commas in it.
    const address = { name: '', address: to }
    // Identifies a resend after a lost response (RFC 5322, 3.6.4).
    const messageId = `<${id}@${/@([^<>@\s]+)>?$/.exec(config.mailFrom)?.[1] ?? 'ukiyo.invalid'}>`
    await transport.sendMail({ from: config.mailFrom, to: address, subject, text, html, messageId })
  } catch (error) {
    const code = error instanceof Error && 'responseCode' in error ? Number(error.responseCode) : 0
    const about = error instanceof Error && 'command' in error ? error.command : null
    // 5xx for the recipient or the content is final (RFC 5321, 4.2.1). Errors about us, such as a wrong password, can
    // be fixed and are retried.
    if (code < 500 || (about !== 'RCPT TO' && about !== 'DATA'))
      throw new Error(`the mail server did not take a mail${code ? ` (${code})` : ''}`, { cause: error })
    log.warn({ mail: id, code }, 'the mail server permanently rejected an email')
  } finally {
    transport.close()
  }
}

export const htmlOf = (...blocks: readonly string[]): string =>
  ['<!doctype html><meta charset="utf-8">', ...blocks].join('\n')

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`)
