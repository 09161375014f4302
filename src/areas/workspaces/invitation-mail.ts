import { type Mail, escapeHtml } from '#engine/mail.ts'

export interface InvitationMail {
  to: string
  workspace: string
  inviter: string
  role: string
  /** Where the app takes it; the token stands behind `#`, which browsers send to nobody. */
  link: string
  token: string
  expiresAt: Date
}

/** The mail that carries the token of an invitation. */
export function invitationMail({ to, workspace, inviter, role, link, token, expiresAt }: InvitationMail): Mail {
  const until = `${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  const intro = `${inviter} invites you to the workspace “${workspace}” as ${role}.`
  // Never as an argument: those are seen by every process of the machine, and kept in its history.
  const terminal = 'On a terminal, run `uk invitations accept --token -` and give it this token:'
  const ignore = 'If you do not know what this is about, ignore it: nothing happens until you accept.'
  return {
    to,
    subject: `${inviter} invites you to ${workspace}`,
    text: `${intro}\n\nAccept: ${link}\n\n${terminal}\n${token}\n\nThe invitation is good until ${until}.\n${ignore}\n`,
    html: [
      '<!doctype html><meta charset="utf-8">',
      `<p>${escapeHtml(intro)}</p>`,
      `<p><a href="${escapeHtml(link)}">Accept the invitation</a></p>`,
      `<p>${escapeHtml(terminal)}<br><code>${escapeHtml(token)}</code></p>`,
      `<p>The invitation is good until ${until}.<br>${ignore}</p>`,
    ].join('\n'),
  }
}
