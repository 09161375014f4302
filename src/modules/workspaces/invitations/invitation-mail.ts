import type { Mail } from '#infra/mail/mail.ts'
import { tokenMail } from '#infra/mail/token-mail.ts'

export interface InvitationMail {
  to: string
  workspace: string
  inviter: string
  role: string
  link: string
  token: string
  expiresAt: Date
}

/** The mail that carries the token of an invitation. */
export const invitationMail = ({ to, workspace, inviter, role, link, token, expiresAt }: InvitationMail): Mail =>
  tokenMail({
    to,
    subject: `${inviter} invites you to ${workspace}`,
    intro: `${inviter} invites you to the workspace “${workspace}” as ${role}.`,
    open: { words: 'Accept the invitation', link },
    command: 'uk invitations accept',
    token,
    further: [
      `The invitation is good until ${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC.`,
      'If you do not know what this is about, ignore it: nothing happens until you accept.',
    ],
  })
