import { type Mail, escapeHtml, htmlOf } from '#infra/mail/mail.ts'
import type { NotificationRow } from '../store.ts'
import { shorten } from '#core/text/shorten.ts'

/** Builds one email: a single notification under its own title, several as a list. */
export function notificationMail(
  to: string,
  rows: readonly Pick<NotificationRow, 'title' | 'body' | 'action_url' | 'created_at'>[],
  { origin }: { origin: string },
): Mail {
  const first = rows[0]!
  const subject = rows.length === 1 ? first.title : `${rows.length} notifications: ${first.title}`
  const settings = `${origin}/app/settings/notifications`
  const text = rows.map((row) => [row.title, row.body, linkOf(row, origin)].filter(Boolean).join('\n')).join('\n\n')
  const html = rows.map((row) => {
    const link = linkOf(row, origin)
    const title = escapeHtml(row.title)
    return [
      `<p><strong>${link === null ? title : `<a href="${escapeHtml(link)}">${title}</a>`}</strong>`,
      row.body === null ? '' : `<br>${escapeHtml(row.body).replaceAll('\n', '<br>')}`,
      `</p>`,
    ].join('')
  })
  return {
    to,
    // A line break would start another header.
    subject: shorten(subject.replaceAll(/\s+/g, ' '), 200),
    text: `${text}\n\n--\nManage your email notifications: ${settings}\n`,
    html: htmlOf(
      ...html,
      `<p><small><a href="${escapeHtml(settings)}">Manage your email notifications</a></small></p>`,
    ),
  }
}

function linkOf({ action_url }: Pick<NotificationRow, 'action_url'>, origin: string): string | null {
  return action_url === null ? null : action_url.startsWith('/') ? `${origin}${action_url}` : action_url
}
