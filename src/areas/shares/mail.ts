import { type Mail, escapeHtml } from '#engine/mail.ts'

export interface ShareMail {
  to: string
  what: string
  by: string
  access: 'view' | 'edit'
  /** Where the app takes it; the token stands behind `#`, which browsers send to nobody. */
  link: string
  token: string
}

/** The mail that carries the token of a share. */
export function shareMail({ to, what, by, access, link, token }: ShareMail): Mail {
  const intro = `${by} shares “${what}” with you, to ${access}.`
  const terminal = 'On a terminal, run `uk invitations accept --token -` and give it this token:'
  return {
    to,
    subject: `${by} shares “${what}” with you`,
    text: `${intro}\n\nOpen: ${link}\n\n${terminal}\n${token}\n`,
    html: [
      '<!doctype html><meta charset="utf-8">',
      `<p>${escapeHtml(intro)}</p>`,
      `<p><a href="${escapeHtml(link)}">Open it</a></p>`,
      `<p>${escapeHtml(terminal)}<br><code>${escapeHtml(token)}</code></p>`,
    ].join('\n'),
  }
}
