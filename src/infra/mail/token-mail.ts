import { type Mail, escapeHtml, htmlOf } from './mail.ts'

export interface TokenMail {
  to: string
  subject: string
  intro: string
  /** The link to the app with the token after `#`, which browsers don't send. Null: no link. */
  open: { words: string; link: string } | null
  /** A terminal command for the token. Never pass it as an argument: those are logged and visible to all processes. */
  command: string
  token: string
  further?: readonly string[]
}

export function tokenMail({ to, subject, intro, open, command, token, further = [] }: TokenMail): Mail {
  const terminal = `In a terminal, run \`${command} --token -\` and enter this token:`
  const [text, html] = [[intro], [`<p>${escapeHtml(intro)}</p>`]]
  if (open !== null) {
    text.push(`${open.words}: ${open.link}`)
    html.push(`<p><a href="${escapeHtml(open.link)}">${escapeHtml(open.words)}</a></p>`)
  }
  text.push(`${terminal}\n${token}`)
  html.push(`<p>${escapeHtml(terminal)}<br><code>${escapeHtml(token)}</code></p>`)
  if (further.length > 0) {
    text.push(further.join('\n'))
    html.push(`<p>${further.map(escapeHtml).join('<br>')}</p>`)
  }
  return { to, subject, text: `${text.join('\n\n')}\n`, html: htmlOf(...html) }
}
