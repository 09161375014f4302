export interface LocalVoice {
  name: string
  title: string
  /** BCP 47, main language first. */
  languages: readonly string[]
  gender: 'female' | 'male' | 'neutral' | null
}

export interface SpeakOptions {
  voice: string | null
  language: string | null
  /** 0.25 to 4; 1 is normal speed. */
  speed: number
  account: string
  signal?: AbortSignal | undefined
}

/** The engine lacks the voice or language, or can't read the text. `param`: the affected field. */
export class NoSuchVoice extends Error {
  override name = 'NoSuchVoice'
  readonly param: 'voice' | 'language' | 'input'
  constructor(param: 'voice' | 'language' | 'input', message: string) {
    super(message)
    this.param = param
  }
}

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

/** `en` matches any English, `en-GB` British English. A voice without a region matches all. */
export function speaks(language: string, requestedLanguage: string): boolean {
  const [one, other] = [language.toLowerCase(), requestedLanguage.toLowerCase()]
  return one === other || one.startsWith(`${other}-`) || other.startsWith(`${one}-`)
}
