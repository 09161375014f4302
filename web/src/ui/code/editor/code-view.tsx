import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import {
  HighlightStyle,
  StreamLanguage,
  bracketMatching,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, type Extension } from '@codemirror/state'
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { hidden } from './hidden.ts'
import { colours, theme } from './theme.ts'
import { languageOf } from './languages.ts'

interface Edits {
  onText: (text: string) => void
  onSave: () => void
}

/**
 * A code editor or viewer with line numbers. It lives in a shadow root with an adopted style sheet: in the page itself,
 * CodeMirror would insert a style element, which the content security policy blocks.
 */
export function CodeView({
  name,
  text,
  line,
  edits,
}: {
  name: string
  text: string
  /** The line to scroll to; null: the first. */
  line: number | null
  edits?: Edits
}) {
  const place = useRef<HTMLDivElement>(null)
  const now = useRef(edits)
  now.current = edits
  useEffect(() => {
    const root = place.current!.shadowRoot ?? place.current!.attachShadow({ mode: 'open' })
    const box = document.createElement('div')
    box.style.height = '100%'
    root.append(box)
    const language = new Compartment()
    const view = new EditorView({
      root,
      parent: box,
      state: EditorState.create({
        doc: text,
        extensions: [
          // Keeps the file's line endings: changing them would change every line.
          EditorState.lineSeparator.of(/\r\n/.test(text) ? '\r\n' : '\n'),
          lineNumbers(),
          hidden,
          drawSelection(),
          bracketMatching(),
          search({ top: true }),
          highlightSelectionMatches(),
          syntaxHighlighting(HighlightStyle.define(colours)),
          language.of([]),
          theme,
          EditorView.contentAttributes.of({
            'aria-label': now.current ? `Text of ${name}` : `Text of ${name}, read-only`,
          }),
          now.current ? editing(now) : [EditorState.readOnly.of(true), keymap.of([...searchKeymap, ...defaultKeymap])],
        ],
      }),
    })
    const load = languageOf(name)
    if (load)
      void load().then(
        (parser) => view.dispatch({ effects: language.reconfigure(StreamLanguage.define(parser)) }),
        () => {},
      )
    if (line !== null && line <= view.state.doc.lines) {
      const { from } = view.state.doc.line(line)
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) })
    }
    if (now.current) view.focus()
    return () => {
      view.destroy()
      box.remove()
    }
    // From here on the editor owns the text; another text mounts another view.
  }, [])
  return <div ref={place} data-code className="min-h-0 flex-1 overflow-hidden" />
}

function editing(now: { readonly current: Edits | undefined }): Extension {
  return [
    history(),
    indentOnInput(),
    highlightActiveLine(),
    EditorView.lineWrapping,
    EditorView.updateListener.of((update) => {
      if (update.docChanged) now.current?.onText(update.state.sliceDoc())
    }),
    keymap.of([
      {
        key: 'Mod-s',
        run: () => {
          now.current?.onSave()
          return true
        },
      },
      // CodeMirror's accessibility guide: Tab leaves the editor only after Escape.
      { key: 'Escape', run: (view) => (view.contentDOM.blur(), true) },
      ...searchKeymap,
      ...historyKeymap,
      indentWithTab,
      ...defaultKeymap,
    ]),
  ]
}
