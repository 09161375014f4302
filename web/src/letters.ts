import { kept, useKept } from './kept.ts'

/** Whether single letters do something: people who speak to their computer, or tremble, switch them off (WCAG 2.1.4). */
const letters = kept('ukiyo.letters')
export const lettersAreOn = (): boolean => letters.get() !== 'off'
export const useLetters = (): boolean => useKept(letters) !== 'off'
export const switchLetters = (on: boolean): void => letters.set(on ? null : 'off')

/** Places where a letter is a letter, or where a list finds its rows by it. */
const TAKES_LETTERS =
  'input, textarea, select, [contenteditable=""], [contenteditable="true"], [role="textbox"], [role="combobox"], [role="menu"], [role="listbox"], [role="tree"], [role="dialog"], [role="alertdialog"]'
export const takesLetters = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest(TAKES_LETTERS) !== null
