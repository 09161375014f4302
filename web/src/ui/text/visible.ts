/** Bidirectional controls and invisible tags, which can make text look different from what it is. */
const HIDDEN = /[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

export const visible = (text: string): string =>
  text.replace(HIDDEN, (mark) => `⟨U+${mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`)
