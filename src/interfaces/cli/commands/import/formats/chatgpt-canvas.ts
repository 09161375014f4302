import { type Exported, isObject, textOr } from './conversation.ts'
import { type Document, type Versions, fenced, markdownOf, quoted, versionOf } from './documents.ts'

/**
 * ChatGPT's canvas documents: the answer that calls `canmore.create_textdoc` or `canmore.update_textdoc` is JSON, and
 * the tool's reply below it has the `textdoc_id`.
 */

const CALL = /^canmore\.(create|update|comment)_textdoc$/

/** Renders a canvas call and returns the documents after it; null for other calls and unknown forms. */
export function canvasCall(
  message: Record<string, unknown>,
  { textdocId, versions, exported }: { textdocId: string | null; versions: Versions | null; exported: Exported },
): { text: string; versions: Versions | null } | null {
  const [, verb] = CALL.exec(textOr(message.recipient, '')) ?? []
  const request = verb === undefined ? null : jsonIn(message.content)
  if (request === null) return null
  if (verb === 'create') {
    if (typeof request.content !== 'string') return null
    const document = { title: textOr(request.name, ''), language: languageOf(request.type), content: request.content }
    return { text: markdownOf(document), versions: { key: textdocId ?? '', document, before: versions } }
  }
  if (verb === 'comment') {
    const comments = listIn(request.comments).map(({ comment }) => textOr(comment, ''))
    return { text: comments.map((comment) => `- ${comment.trim()}`).join('\n'), versions }
  }
  const current = versionOf(versions, textdocId) ?? versionOf(versions, null)
  const updates = listIn(request.updates)
  const changed = current === null ? null : replaced(current.document, updates)
  if (current !== null && changed !== null)
    return { text: markdownOf(changed), versions: { key: current.key, document: changed, before: versions } }
  // Patterns are Python regexes from the model, so show the replacement text instead of applying it.
  exported.leave('document edits with only the new text in the export')
  const language = current?.document.language ?? null
  const shown = updates.map(({ replacement }) => textOr(replacement, '')).filter((words) => words.trim() !== '')
  return {
    text: shown.map((words) => (language === null ? quoted(words) : fenced(words, language))).join('\n\n'),
    versions,
  }
}

/** Applies updates whose pattern matches everything or is plain text; null for other patterns. */
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
