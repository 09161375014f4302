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

export const shareMail = ({ to, what, by, access, link, token }: ShareMail): Mail =>
  tokenMail({
    to,
    subject: `${by} shared “${what}” with you`,
    intro: `${by} shared “${what}” with you. You can ${access} it.`,
    open: { words: 'Open', link },
    command: 'uk invitations accept',
    token,
  })
