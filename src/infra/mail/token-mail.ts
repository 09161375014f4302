import { type Mail, escapeHtml, htmlOf } from './mail.ts'

export interface TokenMail {
  to: string
  subject: string
  /** The first sentence, which says what the mail is about. */
  intro: string
  /** The link that takes the token into the app, behind `#`: browsers send that to nobody. Null: there is none. */
  open: { words: string; link: string } | null
  /** The command that takes the token on a terminal. Never as an argument: those are kept, and any process sees it. */
  command: string
  token: string
  /** Sentences below, each on a line. */
  further?: readonly string[]
}

/** A mail whose reader gets something by its token, in the app or on a terminal. */
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
