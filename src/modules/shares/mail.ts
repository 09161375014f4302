import type { Mail } from '#infra/mail/mail.ts'
import { tokenMail } from '#infra/mail/token-mail.ts'

export interface ShareMail {
  to: string
  what: string
  by: string
  access: 'view' | 'edit'
  link: string
  token: string
}

/** The mail that carries the token of a share. */
export const shareMail = ({ to, what, by, access, link, token }: ShareMail): Mail =>
  tokenMail({
    to,
    subject: `${by} shares “${what}” with you`,
    intro: `${by} shares “${what}” with you, to ${access}.`,
    open: { words: 'Open it', link },
    command: 'uk invitations accept',
    token,
  })
