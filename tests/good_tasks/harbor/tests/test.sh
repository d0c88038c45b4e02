#!/bin/bash
rm -f /logs/verifier/reward.txt
if [ "$(cat /root/sum.txt 2>/dev/null)" = "42" ]; then reward=1; else reward=0; fi
echo "$reward" > /logs/verifier/reward.txt
