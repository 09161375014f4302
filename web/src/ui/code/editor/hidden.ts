import { highlightSpecialChars } from '@codemirror/view'

export const hidden = highlightSpecialChars({ addSpecialChars: /[\u{e0000}-\u{e007f}]/gu })
