import type { Context } from '#infra/context.ts'
import { escapeHtml } from '#infra/mail/mail.ts'
import type { Bytes } from '#core/answers.ts'
import { extendedValue } from '#core/text/header-fields.ts'
import { iso } from '#core/time.ts'
import { type MessageRow, messageStore } from '../messages/message-store.ts'
import type { Part } from '../messages/parts.ts'
import { embedded } from '../messages/read-files.ts'
import { showMessage } from '../messages/show.ts'
import { showChat } from '../show.ts'
import type { ChatRow } from '../store.ts'
import { shorten } from '#core/text/shorten.ts'

export type Format = 'markdown' | 'json' | 'html'

/** Messages read at once, each up to a megabyte. */
const PAGE = 20

interface Writer {
  type: string
  suffix: string
  before(chat: ChatRow): string
  message(message: MessageRow, first: boolean): string
  after: string
}

export function exportChat(ctx: Context, chat: ChatRow, format: Format, branch: 'active' | 'all'): Bytes {
  const writer = writers[format]
  return {
    headers: {
      'content-type': writer.type,
      'content-disposition': `attachment; filename="chat.${writer.suffix}"; filename*=${extendedValue(`${nameOf(chat.title)}.${writer.suffix}`)}`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    },
    body: written(ctx, chat, writer, branch),
  }
}

async function* written(
  ctx: Context,
  chat: ChatRow,
  writer: Writer,
  branch: 'active' | 'all',
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(writer.before(chat))
  let first = true
  for await (const message of messagesOf(ctx, chat, branch)) {
    const content: Part[] = []
    for (const part of message.content) content.push(await embedded(ctx.engine, part))
    yield Buffer.from(writer.message({ ...message, content }, first))
    first = false
  }
  yield Buffer.from(writer.after)
}

async function* messagesOf(ctx: Context, chat: ChatRow, branch: 'active' | 'all'): AsyncGenerator<MessageRow> {
  const head = chat.head_message_id
  if (head === null) return
  for (let after: number | null = null; ;) {
    const rows: MessageRow[] =
      branch === 'all'
        ? await messageStore.all(ctx.db, chat.id, { order: 'asc', after, limit: PAGE })
        : await messageStore.path(ctx.engine.postgres, { head, order: 'asc', after, limit: PAGE })
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = branch === 'all' ? last.seq : last.depth
  }
}

const nameOf = (title: string): string =>
  shorten(title.replaceAll(/[\/\\:*?"<>\|[\p{C}--[\u200C\u200D]]]/gv, ' ').trim(), 80) || 'chat'

const who: Readonly<Record<MessageRow['role'], string>> = {
  user: 'User',
  assistant: 'Assistant',
  system: 'System',
  tool: 'Tool',
}

const markdown: Writer = {
  type: 'text/markdown; charset=utf-8',
  suffix: 'md',
  before: ({ title }) => `# ${title.replaceAll(/\s+/g, ' ')}\n`,
  message: (message) =>
    `\n## ${who[message.role]}${message.model === null ? '' : ` (${message.model})`}\n\n${message.content.map(markdownOf).join('\n\n')}\n`,
  after: '',
}

function markdownOf(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'reasoning':
      return `> ${part.text.replaceAll('\n', '\n> ')}`
    case 'image':
      return `![image](${addressOf(part.source)})`
    case 'file':
      return `[${(part.name ?? 'file').replaceAll(/[[\]\\]/g, '\\$&')}](${addressOf(part.source)})`
    case 'tool_call':
      return fenced(`${part.name}(${part.arguments})`)
    case 'tool_result':
      return fenced(textOf(part.output))
    case 'compaction':
      return part.summary
  }
}

function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

const addressOf = (source: Extract<Part, { type: 'image' }>['source']): string =>
  source.kind === 'url'
    ? encodeURI(decoded(source.url))
    : source.kind === 'base64'
      ? `data:${source.media_type};base64,${source.data}`
      : ''

function decoded(url: string): string {
  try {
    return decodeURI(url)
  } catch {
    return url
  }
}

const json: Writer = {
  type: 'application/json; charset=utf-8',
  suffix: 'json',
  before: (chat) => `{"chat":${JSON.stringify(showChat(chat))},"messages":[`,
  message: (message, first) => `${first ? '' : ','}${JSON.stringify(showMessage(message))}`,
  after: ']}\n',
}

const html: Writer = {
  type: 'text/html; charset=utf-8',
  suffix: 'html',
  before: (chat) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: https:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(chat.title)}</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}
article{margin:1.5rem 0}h2{font-size:.8rem;letter-spacing:.08em;text-transform:uppercase;opacity:.6}
p,pre{white-space:pre-wrap;overflow-wrap:anywhere}pre{font-size:.85rem;background:#8881;padding:.75rem}img{max-width:100%}
.reasoning{opacity:.6;font-style:italic}@media(prefers-color-scheme:dark){body{background:#111;color:#eee}}</style></head>
<body><h1>${escapeHtml(chat.title)}</h1><p>${iso(chat.created_at)}</p>
`,
  message: (message) =>
    `<article><h2>${who[message.role]}${message.model === null ? '' : ` · ${escapeHtml(message.model)}`}</h2>${message.content.map(htmlOf).join('')}</article>\n`,
  after: '</body></html>\n',
}

function htmlOf(part: Part): string {
  switch (part.type) {
    case 'text':
      return `<p>${escapeHtml(part.text)}</p>`
    case 'reasoning':
      return `<p class="reasoning">${escapeHtml(part.text)}</p>`
    case 'image':
      return `<img alt="image" src="${escapeHtml(addressOf(part.source))}">`
    case 'file':
      return `<p><a download href="${escapeHtml(addressOf(part.source))}">${escapeHtml(part.name ?? 'file')}</a></p>`
    case 'tool_call':
      return `<pre>${escapeHtml(`${part.name}(${part.arguments})`)}</pre>`
    case 'tool_result':
      return `<pre>${escapeHtml(textOf(part.output))}</pre>`
    case 'compaction':
      return `<p>${escapeHtml(part.summary)}</p>`
  }
}

const writers: Readonly<Record<Format, Writer>> = { markdown, json, html }
