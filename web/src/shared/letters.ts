import { deviceSetting, useDeviceSetting } from './device-setting.ts'

/** Whether single-letter shortcuts are on. People who use speech input or have tremors turn them off (WCAG 2.1.4). */
const letters = deviceSetting('ukiyo.letters')
export const lettersAreOn = (): boolean => letters.get() !== 'off'
export const useLetters = (): boolean => useDeviceSetting(letters) !== 'off'
export const switchLetters = (on: boolean): void => letters.set(on ? null : 'off')

/** Elements that use letters themselves: text fields, and lists with type-ahead. */
const TAKES_LETTERS =
  'input, textarea, select, [contenteditable=""], [contenteditable="true"], [role="textbox"], [role="combobox"], [role="menu"], [role="listbox"], [role="tree"], [role="dialog"], [role="alertdialog"]'
export const takesLetters = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest(TAKES_LETTERS) !== null
