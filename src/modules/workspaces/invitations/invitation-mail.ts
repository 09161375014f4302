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

export const invitationMail = ({ to, workspace, inviter, role, link, token, expiresAt }: InvitationMail): Mail =>
  tokenMail({
    to,
    subject: `${inviter} invited you to ${workspace}`,
    intro: `${inviter} invited you to join the workspace “${workspace}” with the role ${role}.`,
    open: { words: 'Accept invitation', link },
    command: 'uk invitations accept',
    token,
    further: [
      `The invitation expires on ${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC.`,
      'If you don’t know what this is about, you can ignore this email.',
    ],
  })
