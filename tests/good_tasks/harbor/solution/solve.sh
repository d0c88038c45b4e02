#!/bin/bash
awk -F, 'NR > 1 { sum += $2 } END { print sum }' /root/data.csv > /root/sum.txt
