import { useEffect, useRef, useState } from 'react'
import { useSettled } from './settled.ts'

/**
 * Typed words that are written to the address once typing pauses. Other changes of the address (a link, Back) replace the words;
 * late results of their own never do.
 */
export function useWordsInAddress(
  inAddress: string,
  ms: number,
  go: (words: string) => void,
): [words: string, set: (words: string) => void, settled: string] {
  const [words, setWords] = useState(inAddress)
  const settled = useSettled(words.trim(), ms)
  /** The addresses written by this field: the current one and later ones. */
  const own = useRef([inAddress])
  useEffect(() => {
    if (settled === own.current.at(-1)) return
    own.current.push(settled)
    go(settled)
  }, [settled])
  useEffect(() => {
    const at = own.current.indexOf(inAddress)
    if (at >= 0) own.current = own.current.slice(at)
    else {
      own.current = [inAddress]
      setWords(inAddress)
    }
  }, [inAddress])
  return [words, setWords, settled]
}
