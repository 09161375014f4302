import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language'
import { search, searchKeymap } from '@codemirror/search'
import { EditorState } from '@codemirror/state'
import { EditorView, drawSelection, keymap, placeholder } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { hidden } from './hidden.ts'
import { markdown } from './markdown.ts'
import { colours, theme } from './theme.ts'

/** Styled like a form field. Grows with its content, up to most of the window. */
const field = EditorView.theme({
  '&': { fontSize: 'inherit' },
  '.cm-scroller': { fontFamily: 'inherit', lineHeight: '1.625', maxHeight: '70dvh' },
  '.cm-content': { padding: '0.375rem 0' },
  '.cm-line': { padding: '0 0.625rem' },
  '.cm-placeholder': { color: 'var(--color-quiet)' },
})

/**
 * A Markdown field with syntax highlighting. Tab leaves it like any other field. It lives in a shadow root for the same
 * reason as `CodeView`.
 */
export default function MarkdownView({
  label,
  value,
  onValue,
  rows,
  hint,
}: {
  label: string
  value: string
  onValue: (value: string) => void
  rows: number
  hint: string
}) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const now = useRef(onValue)
  now.current = onValue
  const lastValue = useRef(value)
  useEffect(() => {
    const root = place.current!.shadowRoot ?? place.current!.attachShadow({ mode: 'open' })
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: lastValue.current,
        extensions: [
          history(),
          hidden,
          drawSelection(),
          search({ top: true }),
          syntaxHighlighting(HighlightStyle.define(colours)),
          StreamLanguage.define(markdown),
          // Earlier extensions take precedence.
          field,
          EditorView.theme({ '.cm-content': { minHeight: `${rows * 1.625 + 0.85}em` } }),
          theme,
          EditorView.lineWrapping,
          placeholder(hint),
          EditorView.contentAttributes.of({
            'aria-label': label,
            spellcheck: 'true',
            autocorrect: 'on',
            autocapitalize: 'sentences',
          }),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return
            const text = update.state.sliceDoc()
            if (text === lastValue.current) return
            lastValue.current = text
            now.current(text)
          }),
          keymap.of([...searchKeymap, ...historyKeymap, ...defaultKeymap]),
        ],
      }),
    })
    view.current = editor
    return () => {
      view.current = null
      editor.destroy()
    }
  }, [])
  useEffect(() => {
    // The parent changed the text, for example by discarding the draft.
    if (value === lastValue.current || view.current === null) return
    lastValue.current = value
    view.current.dispatch({ changes: { from: 0, to: view.current.state.doc.length, insert: value } })
  }, [value])
  return <div ref={place} data-code className="field overflow-hidden p-0" />
}
