import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

/** The page's CSS variables reach into the shadow root, so one definition serves both themes. */
export const theme = EditorView.theme({
  '&': {
    height: '100%',
    color: 'var(--color-ink)',
    backgroundColor: 'var(--color-sheet)',
    fontSize: '0.8125rem',
  },
  '&.cm-focused': { outline: '2px solid var(--color-ai)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: '1.5rem', overflow: 'auto' },
  '.cm-gutters': {
    backgroundColor: 'var(--color-sheet)',
    color: 'var(--color-quiet)',
    border: 'none',
    borderRight: '1px solid var(--color-line)',
  },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 0.75rem 0 1rem', fontVariantNumeric: 'tabular-nums' },
  '.cm-content:focus': { outline: 'none' },
  '.cm-content': { caretColor: 'var(--color-ink)', padding: '0.5rem 0' },
  '.cm-cursor': { borderLeftColor: 'var(--color-ink)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in oklab, var(--color-sunk) 60%, transparent)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'color-mix(in oklab, var(--color-ai) 28%, transparent)',
  },
  '.cm-searchMatch, .cm-selectionMatch': {
    backgroundColor: 'color-mix(in oklab, var(--color-ochre) 30%, transparent)',
  },
  '.cm-searchMatch-selected': { outline: '1px solid var(--color-ochre)' },
  '.cm-specialChar': { color: 'var(--color-seal)' },
  '.cm-matchingBracket': { outline: '1px solid var(--color-keyline)' },
  '.cm-panels': { backgroundColor: 'var(--color-paper)', color: 'var(--color-ink)' },
  '.cm-panels-top': { borderBottom: '1px solid var(--color-line)' },
  '.cm-textfield, .cm-button': {
    backgroundColor: 'var(--color-sheet)',
    backgroundImage: 'none',
    border: '1px solid var(--color-keyline)',
    borderRadius: '2px',
    color: 'var(--color-ink)',
  },
})

export const colours = [
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--color-ai)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp, tags.inserted], color: 'var(--color-moss)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.unit], color: 'var(--color-ochre)' },
  { tag: [tags.comment, tags.meta, tags.processingInstruction], color: 'var(--color-quiet)', fontStyle: 'italic' },
  {
    tag: [tags.definition(tags.variableName), tags.function(tags.variableName), tags.className],
    color: 'var(--color-ai-deep)',
  },
  { tag: [tags.tagName, tags.deleted, tags.invalid], color: 'var(--color-seal)' },
  { tag: [tags.attributeName, tags.propertyName, tags.typeName], color: 'var(--color-ai-deep)' },
  { tag: tags.heading, color: 'var(--color-ai-deep)', fontWeight: '650' },
  { tag: [tags.link, tags.url], color: 'var(--color-ai)' },
  { tag: tags.escape, color: 'var(--color-quiet)' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strong, fontWeight: '650' },
]
