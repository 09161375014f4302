import { type Exported, textOr } from './conversation.ts'
import { type Document, type Versions, quoted, versionOf } from './documents.ts'

/**
 * Claude's artifacts: calls of the `artifacts` tool, files written by `create_file` and `str_replace`, and
 * `<antArtifact>` in older answers.
 */

/** A document in a message. Only its last state is shown. */
interface Shown {
  key: string
  document: Document
}

/** Applies a tool call to the documents; null if it shows none. */
export function artifactCall(
  name: unknown,
  input: Record<string, unknown>,
  versions: Versions | null,
): Shown | 'lost' | null {
  if (name === 'artifacts') return artifactOf(input, versions)
  const path = textOr(input.path, '')
  if (path === '') return null
  if (name === 'create_file')
    return typeof input.file_text === 'string' ? { key: path, document: fileOf(path, input.file_text) } : null
  return name === 'str_replace' && versionOf(versions, path) !== null ? edited(path, input, versions) : null
}

function artifactOf(input: Record<string, unknown>, versions: Versions | null): Shown | 'lost' | null {
  const key = textOr(input.id, '')
  const current = versionOf(versions, key)?.document
  if (input.command === 'update') return current === undefined ? 'lost' : edited(key, input, versions)
  if (typeof input.content !== 'string') return null
  return {
    key,
    document: {
      title: textOr(input.title, '') || (current?.title ?? ''),
      language: input.type === undefined ? (current?.language ?? null) : languageOf(input.type, input.language),
      content: input.content,
    },
  }
}

/** Replaces the first occurrence, as Claude does. */
function edited(key: string, { old_str, new_str }: Record<string, unknown>, versions: Versions | null): Shown | 'lost' {
  const { document } = versionOf(versions, key)!
  const [before, after] = [textOr(old_str, ''), textOr(new_str, '')]
  if (before === '' || !document.content.includes(before)) return 'lost'
  return { key, document: { ...document, content: document.content.replace(before, () => after) } }
}

/** The new text of an edit whose document or position is unknown. */
export function lostEdit({ new_str }: Record<string, unknown>, exported: Exported): string {
  exported.leave('document edits with only the new text in the export')
  const words = textOr(new_str, '')
  return words.trim() === '' ? '' : quoted(words)
}

const LANGUAGES: Readonly<Record<string, string>> = {
  'text/html': 'html',
  'image/svg+xml': 'svg',
  'application/vnd.ant.mermaid': 'mermaid',
  'application/vnd.ant.react': 'jsx',
}

function languageOf(type: unknown, language: unknown): string | null {
  if (type === 'application/vnd.ant.code') return textOr(language, '')
  return LANGUAGES[textOr(type, '')] ?? (type === 'text/markdown' || type === 'text/plain' ? null : '')
}

const PLAIN: ReadonlySet<string> = new Set(['md', 'markdown', 'txt', ''])

function fileOf(path: string, content: string): Document {
  const title = path.slice(path.lastIndexOf('/') + 1)
  const extension = title.includes('.') ? title.slice(title.lastIndexOf('.') + 1).toLowerCase() : ''
  return { title, language: PLAIN.has(extension) ? null : extension, content }
}

const OPEN = '<antArtifact'
const CLOSE = '</antArtifact>'
const THOUGHT = ['<antThinking>', '</antThinking>'] as const

/** Renders the embedded documents. Thoughts in the text were never shown, so they're dropped. */
export function withOldArtifacts(text: string, markdown: (document: Document) => string, exported: Exported): string {
  return inside(without(text, exported), markdown)
}

function without(text: string, exported: Exported): string {
  let [rest, words] = [text, '']
  for (let at = rest.indexOf(THOUGHT[0]); at >= 0; at = rest.indexOf(THOUGHT[0])) {
    const end = rest.indexOf(THOUGHT[1], at)
    if (end < 0) break
    exported.leave('model thoughts')
    words += rest.slice(0, at)
    rest = rest.slice(end + THOUGHT[1].length)
  }
  return words + rest
}

function inside(text: string, markdown: (document: Document) => string): string {
  let [rest, words] = [text, '']
  for (let at = rest.indexOf(OPEN); at >= 0; at = rest.indexOf(OPEN)) {
    const head = rest.indexOf('>', at)
    const end = rest.indexOf(CLOSE, at)
    if (head < 0 || end < head) break
    const attributes = new Map<string, string>()
    for (const [, name, value] of rest.slice(at, head).matchAll(/(\w+)="([^"]*)"/g)) attributes.set(name!, value!)
    const document = {
      title: attributes.get('title') ?? '',
      language: languageOf(attributes.get('type'), attributes.get('language')),
      content: rest.slice(head + 1, end).trim(),
    }
    words += `${rest.slice(0, at).trimEnd()}\n\n${markdown(document)}\n\n`
    rest = rest.slice(end + CLOSE.length).trimStart()
  }
  return (words + rest).trim()
}
