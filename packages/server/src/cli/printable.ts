/** Text of others as one line that cannot steer a terminal. */
export const printable = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
