/** A voice of an engine on this machine. */
export interface LocalVoice {
  /** The engine's own name of it. */
  name: string
  /** The voice's name for people. */
  title: string
  /** BCP 47, the first one first. */
  languages: readonly string[]
  gender: 'female' | 'male' | 'neutral' | null
}

export interface SpeakOptions {
  /** An engine's own name of a voice; null: the engine's first that speaks the language. */
  voice: string | null
  /** BCP 47; null: not said. */
  language: string | null
  /** 0.25 to 4, 1 as the voice speaks by itself. */
  speed: number
  /** The account whose turn the work takes. */
  account: string
  signal?: AbortSignal | undefined
}

/** The engine has no such voice, none that speaks the language, or none that reads this text. `param`: which of them was asked. */
export class NoSuchVoice extends Error {
  override name = 'NoSuchVoice'
  readonly param: 'voice' | 'language' | 'input'
  constructor(param: 'voice' | 'language' | 'input', message: string) {
    super(message)
    this.param = param
  }
}

/** The voice that is meant: by its name, else the first that speaks the language, else the first. Throws `NoSuchVoice`. */
export function voiceFor(
  engine: string,
  voices: readonly LocalVoice[],
  { voice, language }: Pick<SpeakOptions, 'voice' | 'language'>,
): LocalVoice {
  if (voice !== null) {
    const match = voices.find(({ name }) => name === voice || `${engine}/${name}` === voice)
    if (match !== undefined) return match
    throw new NoSuchVoice('voice', `The voice ${JSON.stringify(voice)} doesn’t exist in ${engine}.`)
  }
  if (language === null) return voices[0]!
  const languageMatch = voices.find(({ languages }) =>
    languages.some((spokenLanguage) => speaks(spokenLanguage, language)),
  )
  if (languageMatch !== undefined) return languageMatch
  throw new NoSuchVoice('language', `${engine} has no voice for ${JSON.stringify(language)}.`)
}

/** `en` asks for any English, `en-GB` for that of Britain; a voice that names no region speaks for all. */
export function speaks(language: string, requestedLanguage: string): boolean {
  const [one, other] = [language.toLowerCase(), requestedLanguage.toLowerCase()]
  return one === other || one.startsWith(`${other}-`) || other.startsWith(`${one}-`)
}
