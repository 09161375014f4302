/** OpenRouter's name for the vendor of opaque reasoning. */
export const GEMINI_FORMAT = 'google-gemini-v1'

/**
 * Every Gemini part can carry a signature, which must come back on the same part
 * (https://ai.google.dev/gemini-api/docs/thought-signatures). The signature of a thought stays with it. That of another
 * part travels as separate opaque reasoning, whose ID names the part: the ID of a call, or one of these.
 */
export const TEXT_ID = 'text'
export const pictureId = (n: number): string => `picture:${n}`

export const signsCall = ({ format, redacted, id }: { format?: string; redacted?: string; id?: string }): boolean =>
  format === GEMINI_FORMAT && redacted !== undefined && id !== undefined && id !== TEXT_ID && !id.startsWith('picture:')
