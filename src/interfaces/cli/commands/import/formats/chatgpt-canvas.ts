import { type Exported, isObject, textOr } from './conversation.ts'
import { type Document, type Versions, fenced, markdownOf, quoted, versionOf } from './documents.ts'

/**
 * The documents of ChatGPT's canvas: an answer to `canmore.create_textdoc` or `canmore.update_textdoc` is JSON, and the tool's answer
 * below it has the document's `textdoc_id`.
 */

const CALL = /^canmore\.(create|update|comment)_textdoc$/

/** What a call shows, and the documents after it; null: it isn't one of a canvas, or not as known. */
export function canvasCall(
  message: Record<string, unknown>,
  { textdocId, versions, exported }: { textdocId: string | null; versions: Versions | null; exported: Exported },
): { text: string; versions: Versions | null } | null {
  const [, verb] = CALL.exec(textOr(message.recipient, '')) ?? []
  const asked = verb === undefined ? null : jsonIn(message.content)
  if (asked === null) return null
  if (verb === 'create') {
    if (typeof asked.content !== 'string') return null
    const document = { title: textOr(asked.name, ''), language: languageOf(asked.type), content: asked.content }
    return { text: markdownOf(document), versions: { key: textdocId ?? '', document, before: versions } }
  }
  if (verb === 'comment') {
    const comments = listIn(asked.comments).map(({ comment }) => textOr(comment, ''))
    return { text: comments.map((comment) => `- ${comment.trim()}`).join('\n'), versions }
  }
  const known = versionOf(versions, textdocId) ?? versionOf(versions, null)
  const updates = listIn(asked.updates)
  const changed = known === null ? null : replaced(known.document, updates)
  if (known !== null && changed !== null)
    return { text: markdownOf(changed), versions: { key: known.key, document: changed, before: versions } }
  // A pattern is Python's and the model's: what it puts in place is shown instead of where.
  exported.leave('edits of documents whose result is not in the export (the new text is)')
  const language = known?.document.language ?? null
  const shown = updates.map(({ replacement }) => textOr(replacement, '')).filter((words) => words.trim() !== '')
  return {
    text: shown.map((words) => (language === null ? quoted(words) : fenced(words, language))).join('\n\n'),
    versions,
  }
}

/** The document after its updates; null where a pattern is more than all of it or plain words that stand in it. */
function replaced(document: Document, updates: readonly Record<string, unknown>[]): Document | null {
  let { content } = document
  for (const { pattern, replacement, multiple } of updates) {
    if (typeof pattern !== 'string' || typeof replacement !== 'string') return null
    if (/^\^?\.[*+]\$?$/.test(pattern)) content = replacement
    else {
      const words = pattern.replaceAll(/\\([^\w\s])/g, '$1')
      const isPlain = !/(?<!\\)[.*+?^$()[\]{}|]|\\\w/.test(pattern)
      if (!isPlain || words === '' || !content.includes(words)) return null
      content =
        multiple === true ? content.replaceAll(words, () => replacement) : content.replace(words, () => replacement)
    }
  }
  return { ...document, content }
}

const languageOf = (type: unknown): string | null => {
  const [, language] = /^code\/(.*)$/.exec(textOr(type, '')) ?? []
  return language === undefined ? null : language === 'react' ? 'jsx' : language
}

function jsonIn(content: unknown): Record<string, unknown> | null {
  if (!isObject(content)) return null
  const parts = Array.isArray(content.parts) ? content.parts.filter((part) => typeof part === 'string') : []
  try {
    const value: unknown = JSON.parse(typeof content.text === 'string' ? content.text : parts.join(''))
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

const listIn = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isObject) : [])
